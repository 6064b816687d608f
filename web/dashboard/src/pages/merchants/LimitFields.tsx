import { useText } from '../../app/texts'
import { AmountField } from '../../components/AmountField'
import { TextField } from '../../components/TextField'
import type { Settings } from './setting-groups'
import { limitField, limitHours, limitScopes } from './withdrawal-limits'

/** Shows the fields for the limits over a period. */
export function LimitFields({ settings }: { readonly settings: Settings }) {
  const text = useText()
  return (
    <>
      <p className="muted">{text('merchants.help.withdrawalLimits')}</p>
      {limitScopes.map((per) => (
        <fieldset key={per} className="stack">
          <legend className="Field-label">{text(`merchants.limit.${per}`)}</legend>
          {limitHours.map((hours) => {
            const limit = settings.withdrawalLimits.find((each) => each.per === per && each.hours === hours)
            return (
              <div key={hours} className="LimitFields">
                <TextField
                  name={limitField(per, hours, 'count')}
                  kind="number"
                  label={text('merchants.limit.count', { hours })}
                  defaultValue={String(limit?.count ?? '')}
                />
                <AmountField
                  name={limitField(per, hours, 'amount')}
                  label={text('merchants.limit.amount', { hours })}
                  defaultMinor={limit?.amountMinor ?? null}
                />
              </div>
            )
          })}
        </fieldset>
      ))}
    </>
  )
}
