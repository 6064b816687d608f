import type { Filter as DriverFilter } from 'mongodb'
import {
  checkFieldPath,
  existsOperand,
  inValues,
  isPlainObject,
  kindOf,
  operatorsOf,
  unsupportedOperator,
} from '../conditions.js'
import type { Condition, Filter } from '../read-models.js'
import type { Stored } from './mongodb-connection.js'

/**
 * Compiles a filter for the driver. Every value is a scalar under an explicit operator, so that no input of a request can become an
 * operator. @throws TypeError that names the unsupported part
 */
export function driverFilter(filter: Filter): DriverFilter<Stored> {
  if (!isPlainObject(filter)) throw new TypeError(`read models: a filter is an object, not ${kindOf(filter)}`)
  const compiled: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' || key === '$or') {
      if (!Array.isArray(value) || value.length === 0)
        throw new TypeError(`read models: ${key} takes a non-empty array of filters`)
      compiled[key] = value.map(driverFilter)
    } else if (key.startsWith('$')) throw new TypeError(`read models: operator ${key} is not supported`)
    else compiled[key] = driverCondition(key, value as Condition)
  }
  return compiled as DriverFilter<Stored>
}

function driverCondition(path: string, condition: Condition): unknown {
  checkFieldPath(path)
  // The only value without an operator, because FerretDB 1 uses the index of _id in no other form. A string is not an operator.
  if (path === '_id' && typeof condition === 'string') return condition
  const compiled: Record<string, unknown> = {}
  for (const [operator, operand] of operatorsOf(path, condition)) {
    switch (operator) {
      case '$eq':
      case '$ne':
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        compiled[operator] = scalar(path, operand)
        break
      case '$in':
        compiled[operator] = inValues(path, operand).map((value) => scalar(path, value))
        break
      case '$exists':
        compiled[operator] = existsOperand(path, operand)
        break
      default:
        throw unsupportedOperator(operator, path)
    }
  }
  return compiled
}

function scalar(path: string, value: unknown): string | number | boolean | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new TypeError(`read models: field "${path}" holds ${value}`)
  }
  throw new TypeError(`read models: field "${path}" is compared and must be a scalar, not ${kindOf(value)}`)
}
