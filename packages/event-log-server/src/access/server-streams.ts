/** Where the recorded server writes down when it became the leader. Groups are never given any of it. */
export const epochStream = '$epoch-information'

const ownPrefixes = ['$persistentSubscriptionConfig', '$persistentsubscription-', '$user-', epochStream]

/** Streams that this server keeps for itself: other calls than appends change them. */
export function isOwnStream(stream: string): boolean {
  return ownPrefixes.some((prefix) => stream.startsWith(prefix))
}
