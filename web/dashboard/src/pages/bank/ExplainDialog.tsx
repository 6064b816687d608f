import type { BankPayment } from '../../../../../src/http/dashboard/bank/bank-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'

interface ExplainDialogProps {
  readonly payment: BankPayment
  readonly onClose: () => void
  readonly onDone: (payments: readonly BankPayment[]) => void
}

/** Records what money is that belongs to no transfer. */
export function ExplainDialog({ payment, onClose, onDone }: ExplainDialogProps) {
  const text = useText()
  const action = useAction({
    run: (data: FormData) =>
      api.send<BankPayment>('POST', `/bank/payments/${encodeURIComponent(payment.paymentId)}/explain`, {
        explanation: fieldText(data, 'explanation'),
      }),
    refresh: [['bank-days']],
    onSuccess: (explained) => {
      onDone([explained])
      notify(text('bank.explained'))
      onClose()
    },
  })
  return (
    <Dialog title={text('bank.explainTitle')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('bank.explainSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <p>{text('bank.explainHelp')}</p>
        <TextField
          name="explanation"
          label={text('bank.explanation')}
          description={text('common.reasonHelp')}
          defaultValue={payment.explanation ?? ''}
          maxLength={500}
          multiline
          required
          autoFocus
        />
      </Form>
    </Dialog>
  )
}
