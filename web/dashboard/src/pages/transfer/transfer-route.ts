import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'

export const transferRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/transfers/$trackingId',
  staticData: { needs: 'transfers:read' },
  component: lazyPage(pageFiles['/transfers/*'], 'TransferPage'),
})
