import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Search } from './api-address'
import { api } from './api-client'
import type { ApiError } from './api-error'

interface Paged<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

/** Fetches a list page by page. `more` is `undefined` after the last page. */
export function usePages<Item>(queryKey: QueryKey, path: string, search: Search) {
  const query = useInfiniteQuery<Paged<Item>, ApiError, readonly Item[], QueryKey, string | undefined>({
    queryKey,
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) => api.get<Paged<Item>>(path, { ...search, cursor: pageParam }, signal),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: itemsOf,
    // Otherwise the rows would move when the user returns to the window.
    refetchOnWindowFocus: false,
  })
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  return useMemo(() => {
    const more = { onMore: () => void fetchNextPage(), pending: isFetchingNextPage }
    return { items: data ?? [], query, more: hasNextPage ? more : undefined }
  }, [data, query, hasNextPage, isFetchingNextPage, fetchNextPage])
}

function itemsOf<Item>({ pages }: { readonly pages: readonly Paged<Item>[] }): readonly Item[] {
  return pages.flatMap(({ items }) => items)
}
