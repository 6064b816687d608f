/** The stream in which the recorded server records each of its elections. Groups never receive its events. */
export const epochStream = '$epoch-information'

const prefixes = ['$persistentSubscriptionConfig', '$persistentsubscription-', '$user-', epochStream]

/** Returns whether the server reserves a stream for itself. Clients change such a stream with calls other than appends. */
export function isServerStream(stream: string): boolean {
  return prefixes.some((prefix) => stream.startsWith(prefix))
}
