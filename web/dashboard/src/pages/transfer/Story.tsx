import './Story.css'
import type { StoryItem } from '../../api/contract'
import { useText } from '../../app/texts'
import { Empty } from '../../components/Empty'
import { StoryEntry } from './StoryEntry'

/** Everything that happened, oldest first, in one line of time. */
export function Story({ items }: { items: readonly StoryItem[] }) {
  const text = useText()
  if (items.length === 0) return <Empty title={text('transfer.noStory')} />
  return (
    <ol className="Story">
      {items.map((item) => (
        <StoryEntry key={`${item.source} ${item.revision}`} item={item} />
      ))}
    </ol>
  )
}
