import { useEffect, useState } from 'react'

const debounceMs = 150

/** Returns the typed text once typing pauses. */
export function useDebounced(typed: string): string {
  const [settled, setSettled] = useState(typed)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), debounceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return settled
}
