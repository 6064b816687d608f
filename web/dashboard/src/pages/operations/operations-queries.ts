import { queryOptions } from '@tanstack/react-query'
import type {
  ChecksResponse,
  ProjectionsResponse,
  StuckResponse,
} from '../../../../../src/http/dashboard/operations/operations-api'
import { api } from '../../api/api-client'
import { hasActiveTask } from './shown-tasks'

const busyMs = 2_000
const quietMs = 5_000

export const projectionsQuery = queryOptions({
  queryKey: ['projections'],
  queryFn: ({ signal }) => api.get<ProjectionsResponse>('/operations/projections', {}, signal),
  refetchInterval: ({ state }) => (state.data?.items.some(hasActiveTask) ? busyMs : quietMs),
})

export const stuckQuery = queryOptions({
  queryKey: ['stuck'],
  queryFn: ({ signal }) => api.get<StuckResponse>('/operations/stuck', {}, signal),
  refetchInterval: 30_000,
})

export const checksQuery = queryOptions({
  queryKey: ['checks'],
  queryFn: ({ signal }) => api.get<ChecksResponse>('/operations/checks', {}, signal),
  staleTime: 60_000,
})
