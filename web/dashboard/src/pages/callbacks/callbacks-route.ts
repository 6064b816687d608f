import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

interface CallbacksSearch {
  readonly status?: string | undefined
  readonly trackingId?: string | undefined
  /** `live`: the callbacks of a sandbox merchant as they happen. */
  readonly view?: string | undefined
}

export const callbacksRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/callbacks',
  staticData: { needs: 'transfers:read' },
  validateSearch: (search: Record<string, unknown>): CallbacksSearch =>
    pickSearch(search, ['status', 'trackingId', 'view']),
  component: lazyPage(pageFiles['/callbacks'], 'CallbacksPage'),
})
