import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Problem } from '../../components/Problem'
import { notify } from '../../components/Toasts'
import { useAmounts } from '../../components/use-amounts'
import { useLimitTexts } from './use-limits-text'

/** Shows a higher threshold, or higher limits, that wait for a second administrator, who confirms it here. */
export function ProposedThreshold({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const { format } = useAmounts()
  const limitTexts = useLimitTexts()
  const canManage = usePermission('merchants:manage')
  const { merchantId, proposedThreshold, revision } = merchant
  const path = `/merchants/${merchantId}`
  const refresh = [['merchant', merchantId], ['merchants'], ['changes']]
  const confirmation = useAction<void, MerchantItem>({
    run: () => api.send<MerchantItem>('POST', `${path}/confirm-threshold`, { revision }),
    refresh,
    onSuccess: () => notify(text('merchants.thresholdConfirmed')),
  })
  const rejection = useAction<void, MerchantItem>({
    run: () => {
      const { approvalAboveMinor } = merchant.settings
      return api.send<MerchantItem>('PATCH', path, { approvalAboveMinor, revision })
    },
    refresh,
    onSuccess: () => notify(text('merchants.thresholdRejected')),
  })
  const error = confirmation.error ?? rejection.error
  if (!proposedThreshold) return null
  const { approvalAboveMinor, withdrawalLimits, approvalOverDay, by } = proposedThreshold
  return (
    <div className="notice">
      <div className="stack">
        {approvalAboveMinor !== merchant.settings.approvalAboveMinor && (
          <span>
            {approvalAboveMinor === null
              ? text('merchants.thresholdRemovalHeld', { by })
              : text('merchants.thresholdHeld', { by, amount: format(approvalAboveMinor) })}
          </span>
        )}
        {withdrawalLimits && (
          <span>
            {text('merchants.limitsHeld', {
              by,
              limits: limitTexts(withdrawalLimits).join('; ') || text('common.none'),
            })}
          </span>
        )}
        {approvalOverDay === false && <span>{text('merchants.overDayHeld', { by })}</span>}
        {error && <Problem error={error} />}
        {canManage && (
          <div className="row">
            <Button pending={confirmation.pending} onPress={() => confirmation.start()}>
              {text('merchants.confirmThreshold')}
            </Button>
            <Button pending={rejection.pending} onPress={() => rejection.start()}>
              {text('merchants.rejectThreshold')}
            </Button>
          </div>
        )}
      </div>
    </div>
  )
}
