import '../../components/Timeline.css'
import type { StoryItem } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { Empty } from '../../components/Empty'
import { TimelineEntry } from './TimelineEntry'

/** Lists the events of a transfer, oldest first. */
export function TransferTimeline({ items }: { items: readonly StoryItem[] }) {
  const text = useText()
  if (items.length === 0) return <Empty title={text('transfer.noHistory')} />
  return (
    <ol className="Timeline">
      {items.map((item) => (
        <TimelineEntry key={`${item.source} ${item.revision}`} item={item} />
      ))}
    </ol>
  )
}
