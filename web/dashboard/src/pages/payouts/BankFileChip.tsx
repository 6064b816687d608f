import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { Time } from '../../components/Time'

/** Warns that a bank may be paying the withdrawal, regardless of who holds it now. */
export function BankFileChip({ bankFile }: Pick<TransferRow, 'bankFile'>) {
  const text = useText()
  const actorName = useActorName()
  if (!bankFile) return null
  return (
    <span>
      {text('payouts.inFile', { name: actorName(bankFile.name) })} <Time at={bankFile.at} />
    </span>
  )
}
