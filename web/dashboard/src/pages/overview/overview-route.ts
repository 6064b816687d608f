import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'
import { picked } from '../../app/search-params'

export interface OverviewSearch {
  /** Today where there is none. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly measure?: string | undefined
  readonly view?: string | undefined
}

export const overviewRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/',
  staticData: { needs: 'transfers:read' },
  validateSearch: (search: Record<string, unknown>): OverviewSearch =>
    picked(search, ['from', 'to', 'measure', 'view']),
  component: lazyRouteComponent(() => import('./OverviewPage'), 'OverviewPage'),
})
