import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

/** The first and last day in the viewer's time zone, such as 2026-11-21. */
interface StatementSearch {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const statementRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/statement',
  staticData: { needs: 'transfers:read' },
  validateSearch: (search: Record<string, unknown>): StatementSearch => pickSearch(search, ['from', 'to']),
  component: lazyPage(pageFiles['/statement'], 'StatementPage'),
})
