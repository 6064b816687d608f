import { ArrowLeft, Check, Hand, HandCoins, type LucideIcon, Undo2, UserCheck, X } from 'lucide-react'
import { useEffect, useId, useRef } from 'react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import type { ApiError } from '../../api/api-error'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { StatusBadge } from '../../components/Badge'
import { Button, ButtonLink } from '../../components/Button'
import { Problem } from '../../components/Problem'
import { Time } from '../../components/Time'
import { ActionForm, type ActionFormProps, useActionTitle } from '../transfer/ActionForm'
import { Approval } from '../transfer/Approval'
import type { DialogAction } from '../transfer/transfer-actions'
import { BankFileChip } from './BankFileChip'
import { ClaimBar } from './ClaimBar'
import { ClaimChip } from './ClaimChip'
import { EarlierPayouts } from './EarlierPayouts'
import { PayTo } from './PayTo'
import { type KeyedAction, keyOf, type PressedKey } from './payout-keys'

interface PayPanelProps {
  readonly transfer: TransferDetail
  /** Another user has changed the withdrawal since it was shown. */
  readonly hasChanged: boolean
  readonly pressed: PressedKey | undefined
  readonly pending: KeyedAction | undefined
  readonly error: ApiError | null
  /** The action about which the panel asks. */
  readonly asked: DialogAction | undefined
  readonly onAction: (action: KeyedAction) => void
  readonly onDone: (transfer: TransferDetail) => void
  readonly onFailed: () => void
  /** The user takes the question back. */
  readonly onAnswered: () => void
  /** Closes the sheet of a phone. */
  readonly onClose: () => void
}

export function PayPanel(props: PayPanelProps) {
  const { transfer, hasChanged, pressed, asked, error, onDone, onFailed, onAnswered, onClose } = props
  const text = useText()
  return (
    <section className="PayPanel" aria-label={text('transfer.title.withdrawal', { reference: transfer.referenceId })}>
      <div className="PayPanel-bar">
        <Button look="quiet" icon aria-label={text('payouts.backToQueue')} onPress={onClose}>
          <ArrowLeft />
        </Button>
        <strong>{transfer.referenceId}</strong>
      </div>
      <div className="PayPanel-scroll">
        <div className="PayPanel-head">
          <StatusBadge status={transfer.status} />
          <ClaimChip claim={transfer.claim} />
          <PanelButton {...props} action="release" />
        </div>
        <ClaimBar claim={transfer.claim} />
        {transfer.bankFile && (
          <p className="PayPanel-changed">
            <BankFileChip bankFile={transfer.bankFile} />
          </p>
        )}
        <output>{hasChanged && <p className="PayPanel-changed">{text('payouts.changed')}</p>}</output>
        <PayTo transfer={transfer} pressed={pressed} />
        <PaymentDetails transfer={transfer} />
        <EarlierPayouts transfer={transfer} />
      </div>
      <div className="PayPanel-foot">
        {asked ? (
          <Question
            key={asked}
            action={asked}
            detail={transfer}
            onDone={onDone}
            onFailed={onFailed}
            onClose={onAnswered}
          />
        ) : (
          <>
            <Problem error={error} />
            <PanelButtons {...props} />
          </>
        )}
      </div>
    </section>
  )
}

/** The buttons of the panel. The next step fills the first line. */
function PanelButtons(props: PayPanelProps) {
  const text = useText()
  const { actions, payoutsStopped, claim, approval } = props.transfer
  const primary = (['complete', 'approve', 'claim'] as const).find((action) => actions.includes(action))
  const waits = claim?.mine && approval.needed && !approval.by && !actions.includes('complete')
  return (
    <>
      {payoutsStopped && <p className="notice">{text('shell.payoutsStoppedHelp')}</p>}
      {waits && <p className="PayPanel-waits">{text('payouts.unavailableReason.notApproved')}</p>}
      {primary && <PanelButton {...props} action={primary} isPrimary />}
      <div className="PayPanel-others">
        {(['claim', 'manual-control', 'cancel'] as const)
          .filter((action) => action !== primary)
          .map((action) => (
            <PanelButton key={action} {...props} action={action} />
          ))}
      </div>
    </>
  )
}

const icons: { readonly [action in KeyedAction]: LucideIcon } = {
  claim: HandCoins,
  release: Undo2,
  complete: Check,
  approve: UserCheck,
  'manual-control': Hand,
  cancel: X,
}

interface PanelButtonProps extends PayPanelProps {
  readonly action: KeyedAction
  readonly isPrimary?: boolean
}

function PanelButton({ transfer, pending, onAction, action, isPrimary = false }: PanelButtonProps) {
  const text = useText()
  if (!transfer.actions.includes(action)) return null
  const Icon = icons[action]
  return (
    <Button
      look={isPrimary ? 'primary' : action === 'cancel' ? 'bad' : 'plain'}
      small={action === 'release'}
      className={`PayPanel-button PayPanel-${action}`}
      pending={pending === action}
      onPress={() => onAction(action)}
    >
      <Icon />
      {text(`payouts.action.${action}`)} <kbd aria-hidden>{keyOf(action)}</kbd>
    </Button>
  )
}

/** Asks in the place of the buttons, so that the payment stays visible. Escape closes the question. */
function Question(props: ActionFormProps) {
  const id = useId()
  const title = useActionTitle()(props.action, props.detail)
  const { onClose } = props
  const opener = useRef(document.activeElement)
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !document.querySelector('[aria-modal=true]')) onClose()
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [onClose])
  useEffect(() => {
    const { current } = opener
    return () => {
      if (current instanceof HTMLElement && current.isConnected) current.focus()
    }
  }, [])
  return (
    <div role="dialog" aria-labelledby={id} className="Question" data-action={props.action}>
      <h2 id={id}>{title}</h2>
      <ActionForm {...props} />
    </div>
  )
}

function PaymentDetails({ transfer }: { readonly transfer: TransferDetail }) {
  const text = useText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  const { approval, message, trackingId } = transfer
  const facts = [
    { label: text('fields.merchantId'), value: <bdi>{merchantName(transfer.merchantId)}</bdi> },
    { label: text('fields.paymentMethod'), value: methodName(transfer.paymentMethod) },
    { label: text('fields.userId'), value: <bdi>{transfer.userId}</bdi> },
    {
      label: text('fields.approval'),
      value: approval.needed || approval.by ? <Approval approval={approval} /> : undefined,
    },
    { label: text('fields.createdAt'), value: <Time at={transfer.createdAt} /> },
    { label: text('fields.message'), value: message === null ? undefined : <bdi>{message}</bdi> },
  ]
  return (
    <div className="PayPanel-details">
      <dl>
        {facts
          .filter(({ value }) => value !== undefined)
          .map(({ label, value }) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <ButtonLink to="/transfers/$trackingId" params={{ trackingId }} look="quiet">
        {text('payouts.open')}
      </ButtonLink>
    </div>
  )
}
