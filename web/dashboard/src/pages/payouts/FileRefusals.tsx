import type { TransferRow } from '../../../../../src/http/dashboard/api'
import type { Reason } from '../../api/api-error'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Button } from '../../components/Button'
import { useRefusalText } from '../../components/shown-refusals'

interface FileRefusalsProps {
  readonly refused: readonly { readonly row: TransferRow; readonly reason: Reason }[]
  /** The number of withdrawals that the file was to contain. */
  readonly count: number
  readonly onLeaveOut: () => void
}

/** Lists the withdrawals that cannot be in a bank file. Each reason stands once, above the withdrawals to which it applies. */
export function FileRefusals({ refused, count, onLeaveOut }: FileRefusalsProps) {
  const text = useText()
  const refusalText = useRefusalText()
  const reasons = new Map<string, TransferRow[]>()
  for (const { row, reason } of refused) {
    const { subject: _, ...shared } = reason
    const shown = refusalText(shared)
    reasons.set(shown, [...(reasons.get(shown) ?? []), row])
  }
  return (
    <div className="FileRefusals" role="alert">
      <p className="strong">{text('payouts.fileRefused', { refused: refused.length, count })}</p>
      {[...reasons].map(([reason, rows]) => (
        <details key={reason} open={rows.length <= 3}>
          <summary>
            <bdi>{reason}</bdi> {rows.length > 1 && <span className="faint">({rows.length})</span>}
          </summary>
          <ul>
            {rows.map(({ trackingId, amountMinor, name, referenceId }) => (
              <li key={trackingId}>
                <Amount minor={amountMinor} />
                <bdi className="cut">{name}</bdi>
                <bdi className="cut faint">{referenceId}</bdi>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {refused.length < count && (
        <Button onPress={onLeaveOut}>{text('payouts.fileLeaveOut', { count: refused.length })}</Button>
      )}
    </div>
  )
}
