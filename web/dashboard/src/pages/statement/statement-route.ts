import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'
import { picked } from '../../app/search-params'

/** Days such as 2026-11-21, in UTC, both of them included. */
export interface StatementSearch {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const statementRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/statement',
  staticData: { needs: 'transfers:read' },
  validateSearch: (search: Record<string, unknown>): StatementSearch => picked(search, ['from', 'to']),
  component: lazyRouteComponent(() => import('./StatementPage'), 'StatementPage'),
})
