import type { ProjectionItem, ProjectionTask } from '../../api/contract'

/** Where the server stops counting. */
export const maxCountedLag = 1_000

const goingOn: readonly ProjectionTask['state'][] = ['requested', 'running', 'cancelling']

export function isUnderWay({ task }: Pick<ProjectionItem, 'task'>): boolean {
  return task !== null && goingOn.includes(task.state)
}

/** `host/pid`, as nodes are called, of a lease's holder: what comes after tells one hold from another. */
export function nodeOf(holder: string): string {
  return holder.split('/').slice(0, 2).join('/')
}
