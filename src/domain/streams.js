/**
 * How the names of the service's streams begin: all there are, what a copy keeps (`$transferd-`), and `user-`, which is kept for
 * people who sign in. Whoever may write to one of them moves money or changes a merchant's keys, so only the service does.
 */
export const servicePrefixes = [
  'transfer-',
  'payment-',
  'callback-',
  'callbacks-',
  'merchant-',
  'hash-',
  'wallet-',
  'walletcodes-',
  'walletemail-',
  'walletlogins-',
  'user-',
  'problems-',
  '$transferd-',
]
export function isServiceStream(stream) {
  return servicePrefixes.some((prefix) => stream.startsWith(prefix))
}
//# sourceMappingURL=streams.js.map
