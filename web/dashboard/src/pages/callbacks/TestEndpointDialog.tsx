import { useState } from 'react'
import { api } from '../../api/api-client'
import type { EndpointItem, TestAnswer } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Dialog } from '../../components/Dialog'
import { Duration } from '../../components/Duration'
import { Facts } from '../../components/Facts'
import { Problem } from '../../components/Problem'

export interface EndpointDialogProps {
  readonly endpoint: Pick<EndpointItem, 'merchantId' | 'url'>
  readonly onClose: () => void
}

/** Sends nothing before it is asked to: the endpoint is somebody's. */
export function TestEndpointDialog({ endpoint, onClose }: EndpointDialogProps) {
  const text = useText()
  const [answer, setAnswer] = useState<TestAnswer>()
  const action = useAction<void, TestAnswer>({
    run: () => api.send<TestAnswer>('POST', `/merchants/${endpoint.merchantId}/endpoint/test`),
    done: setAnswer,
  })
  return (
    <Dialog title={text('callbacks.testTitle')} open onClose={onClose}>
      <div className="stack">
        <p>{text('callbacks.testHelp')}</p>
        <p>
          <bdi className="EndpointList-url">{endpoint.url}</bdi>
        </p>
        <Problem error={action.error} />
        <div aria-live="polite">{answer && <Answered answer={answer} />}</div>
        <div className="row">
          <Button look="primary" pending={action.pending} onPress={() => action.start()}>
            {text(answer ? 'callbacks.testAgain' : 'callbacks.testSend')}
          </Button>
          <Button look="plain" onPress={onClose}>
            {text('common.close')}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function Answered({ answer: { delivered, httpStatus, durationMs, failure } }: { readonly answer: TestAnswer }) {
  const text = useText()
  return (
    <Facts
      items={[
        {
          label: text('callbacks.testOutcome'),
          value: (
            <Badge tone={delivered ? 'good' : 'bad'}>
              {text(delivered ? 'callbacks.testDelivered' : 'callbacks.testNotDelivered')}
            </Badge>
          ),
        },
        { label: text('callbacks.httpStatus'), value: httpStatus ?? text('callbacks.noAnswer') },
        { label: text('callbacks.took'), value: <Duration ms={durationMs} /> },
        { label: text('callbacks.testFailure'), value: failure === null ? undefined : <bdi>{failure}</bdi> },
      ]}
    />
  )
}
