import { useState } from 'react'
import type { EndpointItem, TestAnswer } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Dialog } from '../../components/Dialog'
import { Duration } from '../../components/Duration'
import { Facts } from '../../components/Facts'
import { Problem } from '../../components/Problem'
import { useFailureName } from '../../components/use-failure-name'

export interface EndpointDialogProps {
  readonly endpoint: Pick<EndpointItem, 'merchantId' | 'url'>
  readonly onClose: () => void
}

/** Sends the test event only when the user presses the button, because the endpoint belongs to a merchant. */
export function TestEndpointDialog({ endpoint, onClose }: EndpointDialogProps) {
  const text = useText()
  const [result, setResult] = useState<TestAnswer>()
  const action = useAction<void, TestAnswer>({
    run: () => api.send<TestAnswer>('POST', `/merchants/${endpoint.merchantId}/endpoint/test`),
    onSuccess: setResult,
  })
  return (
    <Dialog title={text('callbacks.testTitle')} open onClose={onClose}>
      <div className="stack">
        <p>{text('callbacks.testHelp')}</p>
        <p>
          <bdi className="EndpointList-url">{endpoint.url}</bdi>
        </p>
        <Problem error={action.error} />
        <div aria-live="polite">{result && <TestResult result={result} />}</div>
        <div className="row">
          <Button look="primary" pending={action.pending} onPress={() => action.start()}>
            {text(result ? 'callbacks.testSendAgain' : 'callbacks.testSend')}
          </Button>
          <Button onPress={onClose}>{text('common.close')}</Button>
        </div>
      </div>
    </Dialog>
  )
}

function TestResult({ result }: { readonly result: TestAnswer }) {
  const { delivered, httpStatus, durationMs, failure, redirectsTo, resendsWaiting } = result
  const text = useText()
  const failureName = useFailureName()
  return (
    <Facts
      items={[
        {
          label: text('fields.outcome'),
          value: (
            <Badge tone={delivered ? 'good' : 'bad'}>
              {text(delivered ? 'callbacks.testDelivered' : 'callbacks.testNotDelivered')}
            </Badge>
          ),
        },
        { label: text('fields.httpStatus'), value: httpStatus ?? text('callbacks.noResponse') },
        { label: text('fields.durationMs'), value: <Duration ms={durationMs} /> },
        { label: text('fields.lastFailure'), value: failure === null ? undefined : failureName(failure) },
        {
          label: text('callbacks.testRedirectsTo'),
          value: redirectsTo === null ? undefined : <bdi className="EndpointList-url">{redirectsTo}</bdi>,
        },
        { label: text('callbacks.testWaiting'), value: resendsWaiting ? text('callbacks.testSentAgain') : undefined },
      ]}
    />
  )
}
