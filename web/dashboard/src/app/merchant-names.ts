import { useSearch } from '@tanstack/react-router'
import { useSession } from './current-session'

/** The merchant that the switch in the top bar has chosen, from the address; undefined: all that the user may see. */
export function useMerchant(): string | undefined {
  return useSearch({ strict: false, select: ({ merchantId }) => merchantId })
}

export function useMerchantName(): (merchantId: string) => string {
  const { merchants } = useSession()
  return (merchantId) => merchants.find((each) => each.merchantId === merchantId)?.name ?? merchantId
}

export function usePaymentMethodName(): (code: number) => string {
  const { paymentMethods } = useSession()
  return (code) => paymentMethods.find((each) => each.code === code)?.name ?? String(code)
}
