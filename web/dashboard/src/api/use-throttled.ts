import { useEffect, useRef } from 'react'

/** Returns a function that calls the latest `run` at most once per `afterMs`, at the end of that time. */
export function useThrottled(run: () => void, afterMs: number): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const latest = useRef(run)
  useEffect(() => {
    latest.current = run
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, afterMs)
  }
}
