import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

interface OverviewSearch {
  /** Defaults to today. */
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
    pickSearch(search, ['from', 'to', 'measure', 'view']),
  component: lazyPage(pageFiles['/'], 'OverviewPage', Promise.resolve()),
})
