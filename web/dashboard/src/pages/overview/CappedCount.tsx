import { useText } from '../../app/texts'

/** The server counts no further; see the contract. */
const most = 1000

export function CappedCount({ count }: { count: number }) {
  const text = useText()
  return count < most ? text('overview.exactly', { count }) : text('overview.orMore', { count })
}
