import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'
import type { ApiError } from './api-error'

interface ActionOptions<Value, Result> {
  readonly run: (value: Value) => Promise<Result>
  readonly onSuccess?: (result: Result, value: Value) => void
  /** The queries to fetch again after a success, and after a failure that shows that they may be outdated. */
  readonly refresh?: readonly QueryKey[]
}

/** Sends a change of the user exactly once. The component that starts it shows its error (Form, Problem, Confirm). */
export function useAction<Value = void, Result = unknown>(options: ActionOptions<Value, Result>) {
  const { run, onSuccess, refresh = [] } = options
  const client = useQueryClient()
  const fetchAgain = () => {
    for (const queryKey of refresh) void client.invalidateQueries({ queryKey })
  }
  const mutation = useMutation<Result, ApiError, Value>({
    mutationFn: run,
    onSuccess: (result, value) => {
      fetchAgain()
      onSuccess?.(result, value)
    },
    onError: ({ outcome, rule }) => {
      if (outcome === 'unknown' || rule === 'changed-meanwhile') fetchAgain()
    },
  })
  return { start: mutation.mutate, pending: mutation.isPending, error: mutation.error, reset: mutation.reset }
}
