import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Disclosable, disclosables } from '../../../../../src/domain/disclosable'
import type {
  AuditEvidenceResponse,
  CreateEvidenceBody,
  DecideDisclosureBody,
  DisclosureResponse,
  RequestDisclosureBody,
} from '../../../../../src/http/dashboard/audit/audit-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { CheckboxGroup } from '../../components/Checkbox'
import { Loaded } from '../../components/Loaded'
import { Problem } from '../../components/Problem'
import { ReasonDialog } from '../../components/ReasonDialog'
import { Time } from '../../components/Time'
import { notify } from '../../components/Toasts'

type Disclosure = NonNullable<AuditEvidenceResponse['disclosure']>

/** Creates evidence packages of a transfer, and requests and approves the disclosure of personal data. */
export function EvidenceCard({ trackingId }: { readonly trackingId: string }) {
  const text = useText()
  const path = `/audit/evidence/${encodeURIComponent(trackingId)}`
  const queryKey = ['audit-evidence', trackingId]
  const query = useQuery({ queryKey, queryFn: ({ signal }) => api.get<AuditEvidenceResponse>(path, {}, signal) })
  const [isRequesting, setRequesting] = useState(false)
  const creating = useAction({ run: (body: CreateEvidenceBody) => api.download(path, body) })
  return (
    <Card title={text('audit.evidence')}>
      <p className="muted">{text('audit.evidenceHelp')}</p>
      <Loaded query={query}>
        {({ disclosure }) => (
          <>
            {disclosure && <DisclosureState disclosure={disclosure} path={path} queryKey={queryKey} />}
            <p className="row">
              <Button look="primary" pending={creating.pending} onPress={() => creating.start({})}>
                {text('audit.createEvidence')}
              </Button>
              {disclosure?.isInForce && (
                <Button pending={creating.pending} onPress={() => creating.start({ requestId: disclosure.requestId })}>
                  {text('audit.createEvidenceWith')}
                </Button>
              )}
              <Button look="quiet" onPress={() => setRequesting(true)}>
                {text('audit.requestDisclosure')}
              </Button>
            </p>
          </>
        )}
      </Loaded>
      <Problem error={creating.error} />
      {isRequesting && <RequestDialog path={path} queryKey={queryKey} onClose={() => setRequesting(false)} />}
    </Card>
  )
}

interface PartProps {
  readonly path: string
  readonly queryKey: readonly string[]
}

function DisclosureState({ disclosure, path, queryKey }: PartProps & { readonly disclosure: Disclosure }) {
  const text = useText()
  const canDecide = usePermission('privacy:manage')
  const { requestId, disclose, reason, byName, requestedAt, state, decidedByName, decidedAt, isInForce } = disclosure
  const deciding = useAction({
    run: (body: DecideDisclosureBody) => api.send<DisclosureResponse>('POST', `${path}/disclosure/decision`, body),
    refresh: [queryKey],
  })
  const fields = disclose.map((each) => text(`audit.disclose.${each}`)).join(', ')
  const said = {
    open: 'audit.disclosureOpen',
    approved: 'audit.disclosureApproved',
    rejected: 'audit.disclosureRejected',
  } as const
  return (
    <>
      <p>
        {text(said[state], { name: decidedByName ?? byName, fields })} <Time at={decidedAt ?? requestedAt} exact />
      </p>
      <p className="muted">{reason}</p>
      {state === 'approved' && !isInForce && <p>{text('audit.disclosureEnded')}</p>}
      {state === 'open' && canDecide && (
        <p className="row">
          <Button pending={deciding.pending} onPress={() => deciding.start({ requestId, approve: true })}>
            {text('audit.disclosureApprove')}
          </Button>
          <Button look="quiet" pending={deciding.pending} onPress={() => deciding.start({ requestId, approve: false })}>
            {text('audit.disclosureReject')}
          </Button>
        </p>
      )}
      <Problem error={deciding.error} />
    </>
  )
}

function RequestDialog({ path, queryKey, onClose }: PartProps & { readonly onClose: () => void }) {
  const text = useText()
  const [disclose, setDisclose] = useState<readonly Disclosable[]>([])
  return (
    <ReasonDialog
      title={text('audit.disclosureTitle')}
      submit={text('audit.requestDisclosure')}
      reasonHelp={text('audit.disclosureReasonHelp')}
      run={(reason) => {
        const body: RequestDisclosureBody = { disclose: [...disclose], reason }
        return api.send<DisclosureResponse>('POST', `${path}/disclosure`, body)
      }}
      refresh={[queryKey]}
      onSuccess={() => {
        notify(text('audit.disclosureRequested'))
        onClose()
      }}
      onClose={onClose}
    >
      <p>{text('audit.disclosureHelp')}</p>
      <CheckboxGroup
        label={text('audit.disclose')}
        required
        onChange={(chosen) => setDisclose(disclosables.filter((word) => chosen.includes(word)))}
        options={disclosables.map((value) => ({ value, label: text(`audit.disclose.${value}`) }))}
      />
    </ReasonDialog>
  )
}
