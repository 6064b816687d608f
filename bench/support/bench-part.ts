type Task = () => unknown
/** Registers a task that runs at the end of a part. */
export type Cleanup = (task: Task) => void

/** Runs a part of the bench, and then its cleanup tasks in reverse order, even if the part fails or is stopped. */
export async function runPart(work: (cleanup: Cleanup) => Promise<void>): Promise<void> {
  const tasks: Task[] = []
  const cleanUp = async () => {
    for (let task = tasks.pop(); task; task = tasks.pop()) await task()
  }
  const stop = () => cleanUp().finally(() => process.exit(1))
  for (const reason of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(reason, stop)
  try {
    await work((task) => tasks.push(task))
  } finally {
    await cleanUp()
    process.off('disconnect', stop)
    // The channel to the runner would keep this process alive.
    if (process.connected) process.disconnect()
  }
}
