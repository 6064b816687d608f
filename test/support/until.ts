/** Resolves when the condition is true. @throws after `ms` */
export async function until(condition: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out after ${ms} ms: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
