import { useEffect, useRef } from 'react'
import type { PayoutKey, PressedKey } from './payout-keys'

/** Handles a key press once, however often the component renders. */
export function usePressed(pressed: PressedKey | undefined, handle: (key: PayoutKey) => void): void {
  const handled = useRef(pressed)
  useEffect(() => {
    if (!pressed || handled.current === pressed) return
    handled.current = pressed
    handle(pressed.key)
  })
}
