import { createRootRoute, createRoute, Outlet, retainSearchParams } from '@tanstack/react-router'
import type { Permission } from '../../../../src/domain/user/permissions'
import { Gate } from './Gate'
import { Layout } from './Layout'
import { NotFound } from './NotFound'
import { PageError } from './PageError'
import { RequirePermission } from './RequirePermission'
import { pickSearch } from './search-params'

interface PagesSearch {
  readonly merchantId?: string | undefined
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The permission that the page requires; null if the route is not a page. Required, so that no route omits it. */
    readonly needs: Permission | null
  }
}

export const rootRoute = createRootRoute({
  staticData: { needs: null },
  component: () => (
    <Gate>
      <Layout>
        <Outlet />
      </Layout>
    </Gate>
  ),
  notFoundComponent: NotFound,
  errorComponent: PageError,
})

/** The parent of every page. It keeps the chosen merchant in the address when the user moves between pages. */
export const pagesRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'pages',
  staticData: { needs: null },
  validateSearch: (search: Record<string, unknown>): PagesSearch => pickSearch(search, ['merchantId']),
  search: { middlewares: [retainSearchParams<PagesSearch>(['merchantId'])] },
  component: () => (
    <RequirePermission>
      <Outlet />
    </RequirePermission>
  ),
  errorComponent: PageError,
})
