import { useEffect, useState } from 'react'

/** A question ignores answers for this long, because the key press that answers it may have been meant for what it covers. */
const unreadyMs = 500

/** Returns whether the question about the subject has stood long enough to be answered. */
export function useReady(subject: object): boolean {
  const [ready, setReady] = useState<object>()
  useEffect(() => {
    const timer = setTimeout(() => setReady(subject), unreadyMs)
    return () => clearTimeout(timer)
  }, [subject])
  return ready === subject
}
