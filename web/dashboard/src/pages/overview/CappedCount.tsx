import { useText } from '../../app/texts'

/** The server stops counting here. */
const maxCounted = 1000

export function CappedCount({ count }: { count: number }) {
  const text = useText()
  return count < maxCounted ? text('common.count', { count }) : text('common.countOrMore', { count })
}
