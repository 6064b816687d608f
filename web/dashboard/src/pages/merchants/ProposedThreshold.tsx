import { api } from '../../api/api-client'
import type { MerchantItem } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Problem } from '../../components/Problem'
import { notify } from '../../components/Toasts'
import { useAmounts } from '../../components/use-amounts'

/** Shows a higher threshold that waits for a second administrator, who confirms it here. */
export function ProposedThreshold({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const { format } = useAmounts()
  const canManage = usePermission('merchants:manage')
  const { merchantId, proposedThreshold } = merchant
  const action = useAction<void, MerchantItem>({
    run: () => api.send<MerchantItem>('POST', `/merchants/${merchantId}/confirm-threshold`),
    refresh: [['merchant', merchantId], ['merchants'], ['changes']],
    onSuccess: () => notify(text('merchants.thresholdConfirmed')),
  })
  if (!proposedThreshold) return null
  const { approvalAboveMinor, by } = proposedThreshold
  return (
    <div className="notice">
      <div className="stack">
        <span>
          {approvalAboveMinor === null
            ? text('merchants.thresholdRemovalHeld', { by })
            : text('merchants.thresholdHeld', { by, amount: format(approvalAboveMinor) })}
        </span>
        {action.error && <Problem error={action.error} />}
        {canManage && (
          <div className="row">
            <Button pending={action.pending} onPress={() => action.start()}>
              {text('merchants.confirmThreshold')}
            </Button>
          </div>
        )}
      </div>
    </div>
  )
}
