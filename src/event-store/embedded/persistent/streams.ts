export function groupStream(group: string, kind: 'checkpoint' | 'parked' | 'replay'): string {
  return `$persistentsubscription-$all::${group}-${kind}`
}
