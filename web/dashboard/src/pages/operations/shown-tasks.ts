import type { ProjectionItem, ProjectionTask } from '../../../../../src/http/dashboard/operations/operations-api'

const activeStates: readonly ProjectionTask['state'][] = ['requested', 'running', 'cancelling']

export function hasActiveTask({ task }: Pick<ProjectionItem, 'task'>): boolean {
  return task !== null && activeStates.includes(task.state)
}

/** Returns the node of a lease holder, `host/pid`. The rest of the holder identifies one acquisition of the lease. */
export function nodeOf(holder: string): string {
  return holder.split('/').slice(0, 2).join('/')
}
