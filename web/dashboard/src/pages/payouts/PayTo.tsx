import { useState } from 'react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Amount } from '../../components/Amount'
import { writeToClipboard } from '../../components/Copyable'
import { notify } from '../../components/Toasts'
import { CopyLine } from './CopyLine'
import { type CopyValue, copyValues } from './copy-values'
import { copyKeys, type PressedKey } from './payout-keys'
import { usePressed } from './use-pressed'

interface PayToProps {
  readonly transfer: TransferDetail
  readonly pressed: PressedKey | undefined
}

/** Shows what the operator copies into the bank's form. Each line has a key. */
export function PayTo({ transfer, pressed }: PayToProps) {
  const text = useText()
  const { currency } = useSession()
  const [copied, setCopied] = useState<ReadonlySet<string>>(new Set())
  const values = copyValues(transfer, currency.digits)
  const copy = ({ field, value }: CopyValue) => {
    writeToClipboard(value).then(
      () => setCopied((previous) => new Set([...previous, field])),
      () => notify(text('common.copyFailed'), 'bad'),
    )
  }
  usePressed(pressed, (key) => {
    const value = values[(copyKeys as readonly string[]).indexOf(key)]
    if (value) copy(value)
  })
  return (
    <dl className="PayTo">
      {values.map((each, index) => (
        <CopyLine
          key={each.field}
          label={text(labelOf(each))}
          shortcut={copyKeys[index]!}
          isCopied={copied.has(each.field)}
          onCopy={() => copy(each)}
        >
          <Shown transfer={transfer} field={each.field} />
        </CopyLine>
      ))}
    </dl>
  )
}

function labelOf({ field, value }: CopyValue) {
  if (field === 'referenceId') return 'payouts.bankReference'
  return field === 'accountNumber' && /^[A-Z]{2}\d\d/.test(value) ? 'payouts.iban' : (`fields.${field}` as const)
}

function Shown({ transfer, field }: { readonly transfer: TransferDetail; readonly field: CopyValue['field'] }) {
  if (field === 'amountMinor') return <Amount minor={transfer.amountMinor} />
  if (field === 'accountNumber') return <AccountNumber account={transfer.accountNumber ?? ''} />
  return <bdi>{transfer[field]}</bdi>
}
