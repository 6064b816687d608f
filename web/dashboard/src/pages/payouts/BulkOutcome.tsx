import type { BulkResponse, TransferRow } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { useRefusalText } from '../../components/shown-refusals'
import { useAmounts } from '../../components/use-amounts'

interface BulkOutcomeProps {
  readonly action: 'claim' | 'complete'
  readonly seen: readonly TransferRow[]
  readonly outcome: BulkResponse
  readonly onClose: () => void
  readonly onSelect: (trackingIds: readonly string[]) => void
  readonly onOpen: (trackingId: string) => void
}

/** Shows the outcome of every withdrawal of a batch. The rejected ones are first, with the reason, and stay selected. */
export function BulkOutcome({ action, seen, outcome, onClose, onSelect, onOpen }: BulkOutcomeProps) {
  const text = useText()
  const refusalText = useRefusalText()
  const { format } = useAmounts()
  const rows = new Map(seen.map((row) => [row.trackingId, row]))
  const refused = outcome.items.filter(({ error }) => error)
  const done = outcome.items.filter(({ error }) => !error)
  const doneMinor = done.reduce((sum, { trackingId }) => sum + BigInt(rows.get(trackingId)?.amountMinor ?? 0), 0n)
  const open = (trackingId: string) => {
    onOpen(trackingId)
    onClose()
  }
  return (
    <div className="BulkOutcome">
      {refused.length > 0 && (
        <output>{text(`payouts.bulkOthers.${action}`, { count: done.length, total: format(doneMinor) })}</output>
      )}
      <div className="BulkOutcome-frame">
        <table>
          <thead>
            <tr>
              <th scope="col" className="number">
                {text('fields.amountMinor')}
              </th>
              <th scope="col">{text('fields.name')}</th>
              <th scope="col">{text('fields.outcome')}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {[...refused, ...done].map(({ trackingId, error }) => {
              const row = rows.get(trackingId)
              return (
                <tr key={trackingId}>
                  <td className="number">{row && <Amount minor={row.amountMinor} />}</td>
                  <td>
                    <bdi>{row?.name}</bdi>
                    <br />
                    <bdi className="faint small">{row?.referenceId ?? trackingId}</bdi>
                  </td>
                  <td>
                    <Badge tone={error ? 'bad' : 'good'}>
                      {text(error ? 'payouts.bulkRejected' : `payouts.bulkDone.${action}`)}
                    </Badge>{' '}
                    {error && <bdi>{refusalText(error)}</bdi>}
                  </td>
                  <td>
                    {error && (
                      <Button small onPress={() => open(trackingId)}>
                        {text('payouts.bulkOpen')}
                      </Button>
                    )}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <div className="Form-buttons">
        {refused.length > 0 && (
          <Button look="primary" onPress={onClose} autoFocus>
            {text('payouts.bulkKeep')}
          </Button>
        )}
        <Button
          {...(refused.length === 0 && { look: 'primary', autoFocus: true })}
          onPress={() => {
            onSelect([])
            onClose()
          }}
        >
          {text(refused.length > 0 ? 'payouts.bulkClear' : 'common.close')}
        </Button>
      </div>
    </div>
  )
}
