import { useText } from '../app/texts'

/** The limit at which the server stops counting. */
const maxCounted = 1_000

export function CappedCount({ count }: { readonly count: number }) {
  const text = useText()
  return text(count < maxCounted ? 'common.count' : 'common.countOrMore', { count })
}
