import { useIntl } from 'react-intl'
import { useConnection } from '../api/connection'
import { useShownLive } from '../api/shown-live'
import { useStale } from './freshness'
import { useText } from './texts'

/** States whether the shown page updates automatically, and the time of what it shows. Pages that do not update show nothing. */
export function LiveStatus() {
  const text = useText()
  const intl = useIntl()
  const shown = useShownLive()
  const stale = useStale()
  const { isLost } = useConnection()
  if (!shown) return null
  const [oldest] = stale
  // The stream of live messages notices a lost connection later than requests do.
  const state = isLost ? 'lost' : shown.state
  if (state === 'live' && oldest) {
    const time = intl.formatTime(oldest.since ?? undefined, { timeStyle: 'medium' })
    return (
      <output className="LiveStatus LiveStatus-person">
        <span className="LiveStatus-text">{text('shell.live.stale', { time })}</span>
      </output>
    )
  }
  const { at } = shown
  const time = at === undefined ? '' : intl.formatTime(at, { timeStyle: 'medium' })
  const tone = state === 'live' ? 'good' : state === 'lost' ? 'person' : 'off'
  return (
    <output className={`LiveStatus LiveStatus-${tone}`}>
      <span className="LiveStatus-text">
        {at !== undefined && (state === 'live' || state === 'lost')
          ? text(`shell.live.${state}`, { time })
          : text(`common.live.${state}`)}
      </span>
    </output>
  )
}
