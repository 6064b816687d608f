import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'

export const operationsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/operations',
  staticData: { needs: 'operations:read' },
  component: lazyPage(pageFiles['/operations'], 'OperationsPage'),
})
