import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'
import type { ApiError } from './api-error'

interface ActionOptions<Value, Answer> {
  readonly run: (value: Value) => Promise<Answer>
  readonly done?: (answer: Answer, value: Value) => void
  /** What to fetch again, also when nobody knows whether it was done. */
  readonly refresh?: readonly QueryKey[]
}

/** Something the user does: a change that is sent once. Its error is shown where the action is (Form, Problem, Confirm). */
export function useAction<Value = void, Answer = unknown>({ run, done, refresh = [] }: ActionOptions<Value, Answer>) {
  const client = useQueryClient()
  const fetchAgain = () => {
    for (const queryKey of refresh) void client.invalidateQueries({ queryKey })
  }
  const mutation = useMutation<Answer, ApiError, Value>({
    mutationFn: run,
    onSuccess: (answer, value) => {
      fetchAgain()
      done?.(answer, value)
    },
    onError: ({ outcome }) => {
      if (outcome === 'unknown') fetchAgain()
    },
  })
  return { start: mutation.mutate, pending: mutation.isPending, error: mutation.error, reset: mutation.reset }
}
