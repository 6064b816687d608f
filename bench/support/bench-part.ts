type Undo = () => unknown
export type AtEnd = (undo: Undo) => void

/** A part of the bench. What it started and hands to `atEnd` is ended in reverse order, also when it fails or the bench is stopped. */
export async function part(work: (atEnd: AtEnd) => Promise<void>): Promise<void> {
  const undos: Undo[] = []
  const undoAll = async () => {
    for (let undo = undos.pop(); undo; undo = undos.pop()) await undo()
  }
  const stop = () => undoAll().finally(() => process.exit(1))
  for (const reason of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(reason, stop)
  try {
    await work((undo) => undos.push(undo))
  } finally {
    await undoAll()
    process.off('disconnect', stop)
    // The channel to the runner would keep this process.
    if (process.connected) process.disconnect()
  }
}
