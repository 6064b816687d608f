import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'

export const merchantsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/merchants',
  staticData: { needs: 'merchants:read' },
  component: lazyPage(pageFiles['/merchants'], 'MerchantsPage'),
})

export const merchantRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/merchants/$merchantId',
  staticData: { needs: 'merchants:read' },
  component: lazyPage(pageFiles['/merchants/*'], 'MerchantPage'),
})
