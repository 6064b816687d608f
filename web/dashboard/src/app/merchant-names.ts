import { useSearch } from '@tanstack/react-router'
import { useSession } from './current-session'
import { useLanguage } from './language'

/** Returns the merchant chosen in the top bar, from the address. `undefined` stands for all merchants of the user. */
export function useMerchant(): string | undefined {
  return useSearch({ strict: false, select: ({ merchantId }) => merchantId })
}

export function useMerchantName(): (merchantId: string) => string {
  const { merchants } = useSession()
  return (merchantId) => merchants.find((each) => each.merchantId === merchantId)?.name ?? merchantId
}

/** Returns the payment methods with their names in the chosen language. */
export function usePaymentMethods() {
  const language = useLanguage()
  const { paymentMethods } = useSession()
  return paymentMethods.map(({ names, ...method }) => ({ ...method, name: names[language] }))
}

export function usePaymentMethodName(): (code: number) => string {
  const paymentMethods = usePaymentMethods()
  return (code) => paymentMethods.find((each) => each.code === code)?.name ?? String(code)
}
