import { useSyncExternalStore } from 'react'
import type { LiveState } from './live-updates'

interface ShownLive {
  readonly state: LiveState
  /** The time in milliseconds at which the page was last known to be current. */
  readonly at: number | undefined
}

let shown: ShownLive | undefined
const listeners = new Set<() => void>()

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Called by the page that follows live messages; with `undefined` when it is left. */
export function setShownLive(state: LiveState | undefined): void {
  if (state === undefined) shown = undefined
  else shown = { state, at: state === 'live' ? Date.now() : shown?.at }
  for (const listener of listeners) listener()
}

/** Returns the state of the shown page, or `undefined` if it does not update automatically. */
export function useShownLive(): ShownLive | undefined {
  return useSyncExternalStore(subscribe, () => shown)
}
