import type { LiveState } from '../api/live-updates'
import { useText } from '../app/texts'
import { Badge, type Tone } from './Badge'

const tones: { readonly [state in LiveState]: Tone } = { connecting: 'wait', live: 'good', paused: 'off', lost: 'bad' }

/** Shows whether the page updates automatically. */
export function LiveBadge({ state }: { readonly state: LiveState }) {
  const text = useText()
  return (
    <output className="screen-only">
      <Badge tone={tones[state]}>{text(`common.live.${state}`)}</Badge>
    </output>
  )
}
