// Words for a permission that is missing.
import { ApiError } from "../api/client";

/** Says which permission is missing where the server says only that one is. */
export function named(error: Error, needs: string): Error {
  return error instanceof ApiError && error.forbidden ? new ApiError(`This needs the permission ${needs}.`, 403, error.category) : error;
}
