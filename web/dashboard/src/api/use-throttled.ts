import { useEffect, useRef } from 'react'

/** Runs the latest `run` once for all calls within a time, at its end: however often something happens, this is done now and then. */
export function useSoon(run: () => void, afterMs: number): () => void {
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
