import './TransfersPage.css'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ArrowUp, Banknote } from 'lucide-react'
import { FormattedMessage, FormattedNumber } from 'react-intl'
import type { Kind, TransferRow } from '../../../../../src/http/dashboard/api'
import { usePages } from '../../api/use-pages'
import { usePermission, useSession } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Button, ButtonLink } from '../../components/Button'
import { CappedCount } from '../../components/CappedCount'
import { CsvDownload } from '../../components/CsvDownload'
import { DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Filters } from '../../components/Filters'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { Views } from '../../components/Views'
import { isFiltered, noFilters, offeredFacets, offeredOrders, orderOf, type TransfersSearch } from './list-search'
import { useColumns } from './transfer-columns'
import { useFilterFields } from './transfer-filters'
import { transfersSumQuery, useTransferViews } from './transfer-views'
import { useLiveList } from './use-live-list'

interface TransferListProps {
  readonly kind: Kind
  readonly search: TransfersSearch
  readonly onSearch: (changes: TransfersSearch) => void
}

const pageSize = 50
const idOf = ({ trackingId }: TransferRow) => trackingId

export function TransferList({ kind, search, onSearch }: TransferListProps) {
  const text = useText()
  const navigate = useNavigate()
  const merchantId = useMerchant()
  const question = { ...search, kind, merchantId }
  const key = ['transfers', question]
  const { items, query, more } = usePages<TransferRow>(key, '/transfers', { ...question, limit: pageSize })
  const { newer, showNewer } = useLiveList(key, question, query.isSuccess ? items : undefined)
  const allMerchants = useSession().user.merchantIds === null && merchantId === undefined
  const canPay = usePermission('transfers:settle') && kind === 'withdrawal'
  const fields = useFilterFields(offeredFacets(search, allMerchants))
  const columns = useColumns(kind, offeredOrders(search, allMerchants))
  const { views, open, save, remove } = useTransferViews(kind, search, onSearch)
  return (
    <Page
      title={text(`transfers.${kind}s`)}
      actions={
        <>
          <div className="wide-only">
            <CsvDownload path="/transfers" question={question} />
          </div>
          {canPay && (
            <ButtonLink to="/pay" look="primary">
              <Banknote />
              {text('payouts.title')}
            </ButtonLink>
          )}
        </>
      }
    >
      <Views label={text('transfers.views')} views={views} onOpen={open} onSave={save} onRemove={remove} />
      <div className="TransfersPage-filters">
        <Filters
          values={search}
          onChange={onSearch}
          fields={fields}
          help={allMerchants ? text('transfers.chooseMerchant') : undefined}
        >
          <NewerHint count={newer} onShow={showNewer} />
          {!query.isError && <Found kind={kind} search={search} shown={items.length} />}
        </Filters>
      </div>
      <Loaded query={query}>
        {() => (
          <DataTable
            label={text(`transfers.${kind}s`)}
            columns={columns}
            columnsKey={kind}
            rows={items}
            rowId={idOf}
            onOpen={({ trackingId }) => void navigate({ to: '/transfers/$trackingId', params: { trackingId } })}
            sort={orderOf(search)}
            onSort={(sort) => onSearch({ sort })}
            more={more}
            empty={<NoTransfers kind={kind} filtered={isFiltered(search)} onShowAll={() => onSearch(noFilters)} />}
          />
        )}
      </Loaded>
    </Page>
  )
}

/** States the number of rows, and the number and the sum of all transfers that match. The server sums at most a thousand. */
function Found({ kind, search, shown }: { kind: Kind; search: TransfersSearch; shown: number }) {
  const merchantId = useMerchant()
  const { data } = useQuery(transfersSumQuery({ ...search, kind, merchantId }))
  if (!data || data.count === 0) return null
  const values = {
    shown: <strong key="shown">{<FormattedNumber value={Math.min(shown, data.count)} />}</strong>,
    count: (
      <strong key="count">
        <CappedCount count={data.count} />
      </strong>
    ),
    sum: (
      <strong key="sum">
        <Amount minor={BigInt(data.amountMinor)} />
      </strong>
    ),
  }
  return (
    <output className="TransfersPage-found">
      <FormattedMessage id={data.more ? 'transfers.foundMany' : 'transfers.found'} values={values} />
    </output>
  )
}

/** Offers to show newer transfers. Rows never move automatically while the user reads. */
function NewerHint({ count, onShow }: { count: number; onShow: () => void }) {
  const text = useText()
  return (
    <output className="screen-only">
      {count > 0 && (
        <Button small className="TransfersPage-newer" onPress={onShow}>
          <ArrowUp />
          {count > pageSize ? text('transfers.newerOrMore', { count: pageSize }) : text('transfers.newer', { count })}
        </Button>
      )}
    </output>
  )
}

function NoTransfers({ kind, filtered, onShowAll }: { kind: Kind; filtered: boolean; onShowAll: () => void }) {
  const text = useText()
  if (!filtered) {
    return (
      <Empty title={text(`transfers.noneYet.${kind}`)}>
        <p>{text('transfers.noneYetHelp')}</p>
      </Empty>
    )
  }
  return (
    <Empty title={text('transfers.noneFound')}>
      <p>{text('transfers.noneFoundHelp')}</p>
      <Button onPress={onShowAll}>{text('transfers.showAll')}</Button>
    </Empty>
  )
}
