import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

/** The first and last day, such as 2026-11-21. */
interface ReconciliationSearch {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const reconciliationRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/reconciliation',
  staticData: { needs: 'transfers:read' },
  validateSearch: (search: Record<string, unknown>): ReconciliationSearch => pickSearch(search, ['from', 'to']),
  component: lazyPage(pageFiles['/reconciliation'], 'ReconciliationPage'),
})
