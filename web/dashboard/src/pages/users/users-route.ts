import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'

export const usersRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/users',
  staticData: { needs: 'users:read' },
  component: lazyPage(pageFiles['/users'], 'UsersPage'),
})

export const userRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/users/$userId',
  staticData: { needs: 'users:read' },
  component: lazyPage(pageFiles['/users/*'], 'UserPage'),
})
