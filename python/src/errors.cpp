// C++ exceptions become the classes of laneway.errors. They are looked up when one is thrown, not when the module is
// loaded, because the package imports this module.
#include "errors.hpp"

#include <exception>
#include <new>

#include "laneway/base/error.hpp"
#include "laneway/task/task_options.hpp"
#include "module.hpp"
#include "tasks/call_body.hpp"

namespace nb = nanobind;

namespace laneway::python {

namespace {

struct named_error {
    const char* name;  ///< of the class
    std::string what;
};

named_error named(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const usage_error& e) {
        return {"UsageError", e.what()};
    } catch (const system_error& e) {
        return {"SystemError", e.what()};
    } catch (const cuda_error& e) {
        return {"CudaError", e.what()};
    } catch (const timeout_error& e) {
        return {"TimeoutError", e.what()};
    } catch (const device_fault& e) {
        return {"DeviceFault", e.what()};
    } catch (const process_error& e) {
        return {"ProcessError", e.what()};
    } catch (const task_failed& e) {
        return {"TaskError", e.what()};
    } catch (const apps::body_error& e) {
        return {"TaskError", e.what()};
    } catch (const task_queue_full& e) {
        return {"PoolFullError", e.what()};
    } catch (const error& e) {
        return {"Error", e.what()};
    } catch (const std::bad_alloc&) {
        return {"SystemError", "not enough memory"};
    }
}

void translate(const std::exception_ptr& thrown, void*) {
    const nb::object made = error_of(thrown);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace

nb::object error_of(const std::exception_ptr& thrown, const std::string& prefix) {
    const named_error found = named(thrown);
    const std::string what = prefix + found.what;
    // Names of files may hold bytes that are no UTF-8.
    const auto text =
        nb::steal(PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "backslashreplace"));
    return nb::module_::import_("laneway.errors").attr(found.name)(text);
}

void register_errors() { nb::register_exception_translator(translate); }

}  // namespace laneway::python
